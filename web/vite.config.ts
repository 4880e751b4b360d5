import { fileURLToPath } from 'node:url';
import { defineConfig, type BuildOptions } from 'vite';
import { encodingHeaders } from './encoding-headers.mjs';
import { sampleText } from './sample-text.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The module's loader asks for Node's own modules, but only when it runs in Node.
const rollupOptions: BuildOptions['rollupOptions'] = {
  onwarn(warning, warn) { if (!warning.message.includes('has been externalized for browser compatibility')) warn(warning); },
};

export default defineConfig({
  root: here('.'),
  base: './', // the page works in any folder of any server
  plugins: [sampleText(), encodingHeaders()],
  resolve: { alias: { lengthwise: here('../dist/index.js') } },
  server: { fs: { allow: [here('..')] } },
  worker: { format: 'es', rollupOptions },
  build: {
    rollupOptions: { ...rollupOptions, input: [here('index.html'), here('encodings.html')] },
    outDir: here('../dist/web'), emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 700,
  },
});
