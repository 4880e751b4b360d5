import { fileURLToPath } from 'node:url';
import { defineConfig, type BuildOptions, type UserConfig } from 'vite';
import { benchRecords } from './bench-records.mjs';
import { encodingHeaders } from './encoding-headers.mjs';
import { offline, offlineWorker } from './offline.mjs';
import { stretchRecords } from './stretch-records.mjs';
import { sampleText } from './sample-text.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The module's loader asks for Node's own modules, but only when it runs in Node.
const rollupOptions: BuildOptions['rollupOptions'] = {
  onwarn(warning, warn) { if (!warning.message.includes('has been externalized for browser compatibility')) warn(warning); },
};

const common: UserConfig = {
  root: here('.'),
  base: './', // the page works in any folder of any server
  resolve: { alias: { 'lengthwise/texts': here('../dist/texts.mjs'), 'lengthwise/worker': here('../dist/remote.js'), lengthwise: here('../dist/index.js') } },
};
const build: BuildOptions = { outDir: here('../dist/web'), target: 'es2022' };

const site: UserConfig = {
  ...common,
  plugins: [sampleText(), encodingHeaders(), stretchRecords(), benchRecords()],
  server: { fs: { allow: [here('..')] } },
  worker: { format: 'es', rollupOptions },
  build: { ...build, emptyOutDir: true, chunkSizeWarningLimit: 700, rollupOptions: { ...rollupOptions, input: ['index', 'encodings', 'bench'].map((name) => here(`${name}.html`)) } },
};

const oneFile: UserConfig = {
  ...common,
  plugins: [sampleText(), encodingHeaders(), stretchRecords(), offline()],
  worker: { format: 'iife', rollupOptions, plugins: () => [offlineWorker()] },
  build: { ...build, emptyOutDir: false, chunkSizeWarningLimit: 8000, modulePreload: false, rollupOptions: { ...rollupOptions, input: here('lengthwise.html') } },
};

export default defineConfig(({ mode }) => (mode === 'offline' ? oneFile : site));
