// kernels.wasm, in Node and in pages alike.

/** @param {Uint8Array<ArrayBuffer> | WebAssembly.Module} binary */
export async function loadKernels(binary) {
  const module = binary instanceof WebAssembly.Module ? binary : await WebAssembly.compile(binary);
  const { exports: wasm } = await WebAssembly.instantiate(module, { env: { emscripten_notify_memory_growth() {} } });
  wasm._initialize();
  return new Kernels(wasm);
}

/**
 * The same with several threads, which need a loader.
 * @param {{ create: Function, module: WebAssembly.Module, startThreads: typeof import('../../bindings/threads.ts').startThreads }} parts
 */
export async function loadThreadedKernels({ create, module, startThreads }, count) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 32768, shared: true });
  const core = await create({ wasmMemory: memory, instantiateWasm(imports, done) {
    WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
    return {};
  } });
  await startThreads({ _malloc: core._allocate, threads: core._share, HEAP32: new Int32Array(memory.buffer) }, module, memory, count);
  return new Kernels(new Proxy(core, { get: (_, name) => (name === 'memory' ? memory : core[`_${name}`]) }));
}

class Kernels {
  constructor(wasm) { this.wasm = wasm; }

  get bytes() { return this.wasm.memory.buffer.byteLength; }

  /** Address of `count` floats. */
  space(count) {
    const at = this.wasm.allocate(count * 4) >>> 0;
    if (!at) throw new Error(`out of memory: ${count} floats`);
    return at;
  }
  /** Address of a copy of the values. */
  place(values) {
    const at = this.space(values.length);
    this.view(at, values.length).set(values);
    return at;
  }
  view(at, count) { return new Float32Array(this.wasm.memory.buffer, at >>> 0, count); }
  copyOut(at, count) { return this.view(at, count).slice(); }
  release(...blocks) { for (const at of blocks) this.wasm.release(at); }

  /** Encodings at work: the handle that plan(), attend() and the others take. */
  site(spec, { heads, headDim, length, causal = true }) {
    const text = this.wasm.text_area();
    const bytes = new TextEncoder().encode(`${spec}\0`);
    new Uint8Array(this.wasm.memory.buffer).set(bytes, text);
    const site = this.wasm.site(heads, headDim, length, causal);
    if (!site) throw new RangeError(this.#text(text));
    return site;
  }
  #text(at) {
    const bytes = new Uint8Array(this.wasm.memory.buffer, at, 1024);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }
}
