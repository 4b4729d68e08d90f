// Compares pictures of the page. They are read by a page of the browser, because Node has no decoder for PNG.
import type { Browser, Page } from 'playwright-core';
import type { Box } from '../src/stage';

/** A part of a picture in which a colour changed by more than this is different. */
const CHANGED = 40;

/** Which share of the pixels in a box differs between two pictures of the same size. */
export async function changedShare(reader: Page, before: Buffer, after: Buffer, box: Box): Promise<number> {
  const pictures = [before, after].map((picture) => `data:image/png;base64,${picture.toString('base64')}`);
  return reader.evaluate(
    async ({ pictures, box, limit }) => {
      const [one, other] = await Promise.all(
        pictures.map(async (picture) => {
          const image = new Image();
          image.src = picture;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext('2d');
          context?.drawImage(image, 0, 0);
          const [x, y] = [Math.max(0, Math.round(box.x)), Math.max(0, Math.round(box.y))];
          return context?.getImageData(x, y, Math.round(box.width), Math.round(box.height)).data ?? new Uint8ClampedArray();
        }),
      );
      if (one === undefined || other === undefined || one.length === 0) throw new Error('the pictures can’t be read');
      let changed = 0;
      for (let at = 0; at < one.length; at += 4) {
        const difference = [0, 1, 2].map((channel) => Math.abs((one[at + channel] ?? 0) - (other[at + channel] ?? 0)));
        if (Math.max(...difference) > limit) changed += 1;
      }
      return changed / (one.length / 4);
    },
    { pictures, box, limit: CHANGED },
  );
}

/** A page that reads pictures. */
export async function pictureReader(browser: Browser): Promise<Page> {
  const context = await browser.newContext();
  return context.newPage();
}
