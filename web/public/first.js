// Runs before the first paint and before the page's code has arrived. A file of its own, because the content security
// policy allows no inline script.
(function () {
  try {
    var chosen = localStorage.getItem('locus.theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch (e) {
    // Storage is denied: the system's preference decides.
  }

  // What the page at this address reads first is asked for now; src/shared/api/client.ts takes the answers.
  var ahead = (window.locusAhead = {});
  var ask = function (path, query) {
    var text = new URLSearchParams(query).toString();
    var url = '/api/v1' + path + (text && '?' + text);
    ahead[url] = fetch(url, { headers: { Accept: 'application/json' } }).then(function (response) {
      if (!response.ok) return { response: response };
      return response.json().then(function (body) {
        return { response: response, body: body };
      });
    });
    ahead[url].catch(function () {}); // whoever takes it hears of it
  };
  var list = { page_size: 50 };
  if (location.pathname === '/' || location.pathname === '/experiments') ask('/experiments', list);
  var of = /^\/experiments\/([^/]+)$/.exec(location.pathname);
  if (!of) return;
  var experiment = '/experiments/' + of[1];
  var query = new URLSearchParams(location.search);
  var tab = query.get('tab') || 'results';
  ask(experiment);
  if (tab === 'results') {
    var table = query.get('at') ? { labels: query.get('at') } : {};
    if (!query.has('rank') && !query.has('by')) table.first_rows = 50;
    ask(experiment + '/table', table);
  }
  if (tab === 'trials') {
    var metrics = (query.get('values') || '').split('|').filter(Boolean);
    var pairs = metrics.map(function (metric) {
      return ['metrics', metric];
    });
    ask(experiment + '/trials', [['page_size', 50]].concat(pairs));
  }
})();
