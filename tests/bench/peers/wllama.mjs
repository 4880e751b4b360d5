// wllama, llama.cpp in WebAssembly: 32-bit weights, one thread, no GPU. It runs in a worker of the page.
import { gguf, textOf, tokensOf } from './gguf.mjs';
import { inputs } from './rows.mjs';

export async function load(assets) {
  if (typeof document === 'undefined') throw new Error('it needs the workers of a browser');
  const { Wllama } = await import('@wllama/wllama');
  const silent = { debug() {}, log() {}, warn() {}, error() {} };
  const generating = async (row, count) => {
    const { weights, prompt } = inputs(row); // it puts the first token, <s>, before the text itself
    const wllama = new Wllama({ default: assets.wllama }, { suppressNativeLog: true, logger: silent });
    await wllama.loadModel([new Blob([gguf({ ...row.config, length: 512 }, weights)])], { n_threads: 1, n_gpu_layers: 0, n_ctx: 512, n_batch: 512, n_ubatch: 512 });
    let text;
    const run = async () => {
      const answer = await wllama.createCompletion({ prompt: textOf(prompt.subarray(1)), max_tokens: count, temperature: 0, top_k: 1,
        ignore_eos: true, cache_prompt: false });
      text = answer.choices[0].text;
    };
    return { run, result: () => tokensOf(text), dispose: () => void wllama.exit() };
  };
  return { name: 'wllama', kinds: { decode: (row) => generating(row, row.tokens), prefill: (row) => generating(row, 1) } };
}
