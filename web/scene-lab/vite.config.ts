import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// Builds the development page: `npx vite build --config scene-lab/vite.config.ts`.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  build: { target: 'es2022', outDir: 'out', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { host: '127.0.0.1' },
  preview: { host: '127.0.0.1' },
});
