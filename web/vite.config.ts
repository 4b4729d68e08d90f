import { defineConfig } from 'vitest/config';

// `npm run dev` shows a server that runs at the usual address. The server takes requests only from its own origin.
const server = process.env['HALL_SERVER'] ?? 'http://127.0.0.1:8787';
const toServer = { target: server, changeOrigin: true, headers: { origin: server } };
const proxy = { '/api': toServer, '/healthz': toServer };

// The policy with which the server sends the page. `vite preview` sends it too, so that a violation is seen before a build is committed.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    // A page without inline data needs no exception in the content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    // The same names after each build: the files are committed, and the server sends a hash of their contents.
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/[name].js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
      },
    },
  },
  server: { host: '127.0.0.1', proxy },
  preview: { host: '127.0.0.1', proxy, headers: { 'content-security-policy': policy } },
  test: { include: ['test/**/*.test.ts', 'test/**/*.test.tsx'] },
});
