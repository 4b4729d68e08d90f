// Checks what needs a browser: idle frames, picking, themes, a lost context. node scene-lab/check.mjs
// Build first: npx vite build --config scene-lab/vite.config.ts
import assert from 'node:assert/strict';
import { openLab } from './browser.mjs';

const { context, address, close } = await openLab({ width: 1100, height: 620 });
const page = await context.newPage();
const errors = [];
page.on('pageerror', (error) => errors.push(error.message));
const frames = () => page.evaluate('scene.world.renderer.info.render.frame');
const calls = () => page.evaluate('calls.splice(0)');
const rest = async () => {
  for (let last = -1, now = await frames(); last !== now; now = await frames()) {
    last = now;
    await page.waitForTimeout(2500);
  }
};
try {
  await page.goto(`${address}/?mixed=1&quality=reduced`, { waitUntil: 'commit' });
  while (!(await page.evaluate('window.isDone === true'))) await page.waitForTimeout(200);
  await rest();
  console.log('idle: no frames are drawn');

  const box = await page.evaluate(`scene.boxes().figures.get('1.1.1')`);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height * 0.6);
  assert.deepEqual(await calls(), ['select 1.1.1']);
  const banner = await page.evaluate(`scene.boxes().labels.get('banner/1.2') ?? scene.boxes().labels.get('banner/1.1.1')`);
  await page.mouse.click(banner.x + banner.width / 2, banner.y + banner.height / 2);
  assert.match((await calls()).join(), /^unfold 1\./);
  await page.mouse.click(6, 600);
  assert.deepEqual(await calls(), ['select null']);
  console.log('picking: figure, banner, floor');

  await page.mouse.move(300, 200);
  await page.mouse.down();
  await page.mouse.move(380, 220, { steps: 4 });
  await page.mouse.up();
  assert.deepEqual(await calls(), []);
  await page.evaluate('scene.frameAll()');
  await rest();
  console.log('a drag is no click');

  await page.evaluate(`scene.setTheme('day')`);
  await rest();
  await page.evaluate(`window.loss = document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context'); loss.loseContext()`);
  await page.waitForTimeout(1500);
  await page.evaluate('loss.restoreContext()');
  await page.waitForTimeout(1000);
  await rest();
  const { drawCalls, triangles } = await page.evaluate('scene.stats()');
  assert.ok(drawCalls > 10 && triangles > 10000);
  assert.deepEqual(await calls(), []);
  console.log('lost context: restored');
  await page.evaluate(`document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()`);
  await page.waitForTimeout(5600);
  assert.deepEqual(await calls(), ['lost']);
  console.log('lost context: reported after 5 s');
  assert.deepEqual(errors, []);
} finally {
  await close();
}
