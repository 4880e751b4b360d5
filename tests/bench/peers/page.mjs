// The bench in a page: what browser.mjs bundles and then asks for one row after the other.
import { loadContenders } from './contenders.mjs';
import { compete, entriesOf } from './measure.mjs';
import { expected, rows } from './rows.mjs';

const bytes = async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};
const dist = '/dist/index.js'; // for the page to import, not for the bundler
const assets = {
  kernels: (variant) => bytes(`/build/${variant === 'relaxed' ? 'wasm-relaxed' : 'wasm'}/kernels.wasm`),
  lengthwise: () => import(dist),
  ortPaths: '/peers/onnxruntime-web/dist/',
  tfjsPaths: '/peers/@tensorflow/tfjs-backend-wasm/dist/',
  wllama: new URL('/peers/@wllama/wllama/esm/wasm/wllama.wasm', location.href).href,
};

let contenders = [];
globalThis.bench = {
  async load(chosen) {
    contenders = await loadContenders(assets, chosen);
    return contenders.map(({ kinds, ...contender }) => contender);
  },
  row: (id, budget) => {
    const row = rows.find((each) => each.id === id);
    return compete(row, entriesOf(row, contenders), expected, { ...budget, now: () => performance.now() });
  },
};
document.title = 'ready';
