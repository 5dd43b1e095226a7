const pictures = /^image\/(png|jpeg|gif|webp)$/;
/** Of its longer side, in pixels of the screen of a phone. */
const mostPixels = 640;

/**
 * A small copy of a picture, drawn anew: it has the pixels and nothing else of the file, such as where it was taken.
 * Undefined where the browser sees no picture in it.
 */
export async function drawThumbnail(file: File): Promise<Blob | undefined> {
  if (!pictures.test(file.type)) return undefined;
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, mostPixels / Math.max(picture.width, picture.height));
    const [width, height] = [picture.width, picture.height].map((side) =>
      Math.max(1, Math.round(side * scale)),
    );
    const canvas = new OffscreenCanvas(width ?? 1, height ?? 1);
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    return await canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
  } catch {
    return undefined;
  }
}
