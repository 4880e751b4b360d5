// The site as one file that opens without a server, from file://. Browsers fetch nothing there: no scripts, no WebAssembly,
// no worker. So all of it stands in the page: the script inline, files as data: addresses, the worker as text for a Blob.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const dist = (name) => fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
const none = 'new URL("about:blank")';
const data = (name) => `new URL("data:application/wasm;base64,${readFileSync(dist(name)).toString('base64')}")`;

/**
 * The package's literal addresses. Workers are handed their WebAssembly, and its own glue never looks for it. A page without
 * a server cannot share memory among threads.
 */
function withoutAddresses(code, address) {
  return code.replace(/new URL\("(lengthwise\.wasm|\.\/thread\.js|\.\/lengthwise-(threads|inference)(-relaxed)?\.wasm)",\s*import\.meta\.url\)/g, none)
    .replace(/new URL\("\.\/(lengthwise(?:-relaxed)?\.wasm)",\s*import\.meta\.url\)/g, (_, name) => address(name));
}
const isPackage = (id) => id.startsWith(dist('')) && /\.m?js$/.test(id.split('?')[0]);

/** @returns {import('vite').Plugin} */
export const offlineWorker = () => ({
  name: 'offline-worker', enforce: 'pre',
  transform: (code, id) => (isPackage(id) ? withoutAddresses(code, () => none) : undefined),
});

/** @returns {import('vite').Plugin} */
export const offline = () => ({
  name: 'offline', enforce: 'pre',
  transform(code, id) {
    if (!isPackage(id)) return undefined;
    const worker = /new Worker\(new URL\("\.\/worker\.js",\s*import\.meta\.url\),\s*\{\s*type:\s*"module"\s*\}\)/;
    const starts = worker.test(code);
    const rest = withoutAddresses(code.replace(worker, 'new InlineWorker()'), data).replaceAll(/new URL\("\.\/worker\.js",\s*import\.meta\.url\)/g, none);
    return (starts ? `import InlineWorker from ${JSON.stringify(`${dist('worker.js')}?worker&inline`)};\n` : '') + rest;
  },
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const files = Object.values(bundle), page = files.find((file) => file.fileName.endsWith('.html')), scripts = files.filter((file) => file.type === 'chunk');
      if (scripts.length !== 1 || files.length !== 2) this.error(`one script and one page were expected, not ${files.map((file) => file.fileName).join(', ')}`);
      const tag = `<script type="module" crossorigin src="./${scripts[0].fileName}"></script>`;
      const code = scripts[0].code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
      const [before, after, ...more] = page.source.split(tag);
      if (after === undefined || more.length) this.error(`${page.fileName} must have the script once: ${tag}`);
      page.source = `${before}<script type="module">${code}</script>${after}`;
      delete bundle[scripts[0].fileName];
    },
  },
});
