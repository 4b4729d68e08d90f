// axe-core, run in the page. It is evaluated by the browser's debugger, which the policy of the page does not forbid.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** Throws if axe-core finds a violation. `name` says where. */
export async function checkAccessibility(page: Page, name: string): Promise<void> {
  // Colours that are still changing would be measured in between.
  await page.evaluate(async () => {
    const finite = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY);
    await Promise.allSettled(finite.map((animation) => animation.finished));
  });
  await page.evaluate(SOURCE);
  const found = await page.evaluate(async () => (await (window as unknown as { axe: { run(): Promise<{ violations: Found[] }> } }).axe.run()).violations);
  const words = found.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary ?? ''}`));
  if (words.length > 0) throw new Error(`axe-core on ${name}:\n${words.join('\n')}`);
}
