// Measures frames of the development page: node scene-lab/bench.mjs "n=10" "n=1000&quality=reduced"
// Build first: npx vite build --config scene-lab/vite.config.ts
import { openLab } from './browser.mjs';

const { context, address, close } = await openLab({ width: Number(process.env.WIDTH ?? 1600), height: Number(process.env.HEIGHT ?? 900) });
try {
  for (const query of process.argv.slice(2)) {
    const page = await context.newPage();
    page.on('pageerror', (error) => console.log('ERROR', error.message));
    await page.goto(`${address}/?${query}`, { waitUntil: 'commit', timeout: 120000 });
    const start = Date.now();
    while (!(await page.evaluate('window.isDone === true')) && Date.now() - start < 240000) await page.waitForTimeout(200);
    const facts = await page.evaluate(`new Promise((done) => {
      const updates = [], frames = [];
      let i = 0;
      const step = () => {
        if (i > 1) updates.push(scene.stats().updateMs);
        if (i++ > ${Number(process.env.FRAMES ?? 8)}) {
          const middle = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
          return done({ updateMs: middle(updates), updateMax: Math.max(...updates), frameMs: Math.round(middle(frames)), ...{ calls: scene.stats().drawCalls, triangles: scene.stats().triangles, quality: scene.stats().quality } });
        }
        scene.show({ ...stage, now: stage.now + i * 16 });
        const begin = performance.now();
        requestAnimationFrame(() => {
          // Reading a pixel waits for the graphics card.
          const gl = document.querySelector('canvas').getContext('webgl2');
          gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
          if (i > 2) frames.push(performance.now() - begin);
          requestAnimationFrame(step);
        });
      };
      step();
    })`);
    console.log(query, JSON.stringify(facts));
    await page.close();
  }
} finally {
  await close();
}
