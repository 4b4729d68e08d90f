// Takes pictures of the development page: node scene-lab/shot.mjs "night-10?n=10&theme=night" "day-10?n=10&theme=day"
// Build first: npx vite build --config scene-lab/vite.config.ts
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLab } from './browser.mjs';

const OUT = process.env.SHOT_DIR ?? 'scene-lab/shots';
mkdirSync(OUT, { recursive: true });
const { context, address, close } = await openLab({ width: 1600, height: 900 });
try {
  for (const job of process.argv.slice(2)) {
    const [name, query = ''] = job.split('?');
    const page = await context.newPage();
    page.on('console', (message) => console.log(message.type(), message.text().slice(0, 1500)));
    page.on('pageerror', (error) => console.log('ERROR', error.message.slice(0, 600), error.stack?.slice(0, 600)));
    const start = Date.now();
    await page.goto(`${address}/?${query}`, { waitUntil: 'commit', timeout: 120000 });
    // The page's policy forbids the evaluation that waitForFunction needs.
    while (!(await page.evaluate('window.isDone === true')) && Date.now() - start < 240000) await page.waitForTimeout(300);
    await page.screenshot({ path: join(OUT, `${name}.png`), timeout: 120000 });
    const facts = await page.evaluate(`(() => {
      const { labels, figures } = scene.boxes();
      const list = [...labels.values()];
      let overlaps = 0;
      list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
        if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) overlaps++;
      }));
      const heights = [...figures.values()].map((box) => Math.round(box.height)).sort((a, b) => a - b);
      return { stats: scene.stats(), labels: list.length, overlaps, low: heights[0], high: heights.at(-1) };
    })()`);
    console.log(name, Date.now() - start, 'ms', JSON.stringify(facts));
    await page.close();
  }
} finally {
  await close();
}
