import { defineConfig } from 'vitest/config';

// Tests in a real browser, one after another: software WebGL needs all processors.
export default defineConfig({
  test: { include: ['e2e/**/*.e2e.ts'], fileParallelism: false, testTimeout: 600_000, hookTimeout: 300_000 },
});
