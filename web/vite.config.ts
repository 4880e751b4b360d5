import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { sampleText } from './sample-text.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  base: './', // the page works in any folder of any server
  plugins: [sampleText()],
  resolve: { alias: { lengthwise: here('../dist/index.js') } },
  server: { fs: { allow: [here('..')] } },
  worker: { format: 'es' },
  build: { outDir: here('../dist/web'), emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 700 },
});
