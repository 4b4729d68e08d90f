import { defineConfig } from 'vitest/config';

// Pictures of the page at full quality, which software WebGL draws slowly.
export default defineConfig({
  test: { include: ['pictures/**/*.e2e.ts'], fileParallelism: false, testTimeout: 600_000, hookTimeout: 120_000 },
});
