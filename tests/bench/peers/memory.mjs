// How far the heap of WebAssembly has grown after one attention pass, beyond q, k, v and the result: in a process of its
// own, since heaps never shrink. Prints bytes.  node memory.mjs <contender> <form or -> <length>
import { readFileSync } from 'node:fs';
import { contenders } from './contenders.mjs';
import { rows } from './rows.mjs';

const memories = new Set();
const note = (value) => (value instanceof Memory ? memories.add(value) : undefined);
const { Memory, instantiate, Instance } = WebAssembly;
const watch = (instance) => (Object.values(instance.exports).forEach(note), instance);
WebAssembly.Memory = new Proxy(Memory, { construct: (target, args) => (memories.add(new target(...args)), [...memories].pop()) });
WebAssembly.Instance = new Proxy(Instance, { construct: (target, args) => watch(new target(...args)) });
WebAssembly.instantiate = async (...args) => {
  const made = await instantiate.apply(WebAssembly, args);
  watch(made.instance ?? made);
  return made;
};
const total = () => [...memories].reduce((bytes, memory) => bytes + memory.buffer.byteLength, 0);

const [key, form, length] = process.argv.slice(2);
const assets = { kernels: (variant) => readFileSync(new URL(`../../../build/${variant === 'relaxed' ? 'wasm-relaxed' : 'wasm'}/kernels.wasm`, import.meta.url)) };
const contender = await contenders[key](assets);
const row = { ...rows.find(({ kind }) => kind === 'attention'), length: Number(length), form };
const before = total();
const work = await contender.kinds.attention(row);
await work.run();
if (!memories.size) throw new Error('has no memory of WebAssembly');
console.log(total() - before - 4 * 4 * row.length * row.heads * row.headDim);
process.exit();
