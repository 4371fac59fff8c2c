// The dashboard's build, its development server (proxied to a real or mock API) and its unit tests.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const api = process.env.LOCUS_HTTP ?? 'http://127.0.0.1:8180';

export default defineConfig({
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2020',
    assetsInlineLimit: 0, // data: URLs would need a wider content security policy
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 300,
  },
  server: { host: '127.0.0.1', proxy: { '/api': { target: api, changeOrigin: true } } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/test-setup.ts'],
    restoreMocks: true,
  },
});
