// A figure as pixels, for where a vector file is not taken.

const pixels = 3; // a side: 300 dots an inch where the figure is shown at its size

// The file's picture as PNG. Rejects where the browser cannot draw it. The picture is a data: address, the one kind of
// image besides its own that the content security policy lets the page show.
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth * pixels;
  canvas.height = image.naturalHeight * pixels;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser gives no canvas');
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((tell) => canvas.toBlob(tell, 'image/png'));
  if (!blob) throw new Error('this browser writes no PNG');
  return blob;
}
