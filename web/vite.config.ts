// The dashboard's build, its development server (proxied to a real or mock API) and its unit tests.
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const api = process.env.LOCUS_HTTP ?? 'http://127.0.0.1:8180';

// A file of its own costs a request and some milliseconds before the first paint: what most pages share is one, what
// draws curves another, each page a third; the looks of all are one.
function chunkOf(id: string): string | undefined {
  if (/node_modules\/uplot\/.*js$|\/src\/shared\/charts\/curve-/.test(id)) return 'curves';
  if (/node_modules\/(preact|@tanstack)|\/src\/(shared|app)\/(?!main)|parts\/experiments/.test(id)) return 'shared';
  if (/\/src\/(features\/experiment|parts\/(curves|claims|pivot))/.test(id)) return 'experiment';
  return undefined;
}

// The page opened most is fetched beside the entry, not after it has run.
const preloadPage: Plugin = {
  name: 'preload-page',
  transformIndexHtml: {
    order: 'post',
    handler: (_, { bundle }) =>
      Object.keys(bundle ?? {})
        .filter((file) => /^assets\/(experiment|curves)-.*\.js$/.test(file))
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}` },
          injectTo: 'head' as const,
        })),
  },
};

export default defineConfig({
  plugins: [preloadPage],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2020',
    assetsInlineLimit: 0, // data: URLs would need a wider content security policy
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 300,
    cssCodeSplit: false,
    rollupOptions: { output: { manualChunks: chunkOf } },
  },
  server: { host: '127.0.0.1', proxy: { '/api': { target: api, changeOrigin: true } } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/test-setup.ts'],
    restoreMocks: true,
  },
});
