// Sets the chosen theme before the first paint. A file of its own, because the content security policy allows no inline script.
(function () {
  try {
    var chosen = localStorage.getItem('locus.theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch (e) {
    // Storage is denied: the system's preference decides.
  }
})();
