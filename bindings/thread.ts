// The script of a thread: another instance of the module on the memory of the first. It waits for work in there for ever.

/** What a thread is given. */
export interface ThreadStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  /** Address of the top of its stack. */
  stack: number;
  /** The function that it runs, in the module's table. */
  entry: number;
  /** Address of the number that tells the first thread that another one failed. */
  fault: number;
  thread: number;
}

function serve({ module, memory, stack, entry, fault, thread }: ThreadStart, ready: () => void): void {
  // Nothing that a thread does calls the loader.
  const imports: WebAssembly.Imports = {};
  for (const { module: space, name, kind } of WebAssembly.Module.imports(module)) {
    (imports[space] ??= {})[name] = kind === 'memory' ? memory : () => { throw new Error(`a thread called ${name}`); };
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  const table = Object.values(exports).find((each) => each instanceof WebAssembly.Table)!; // its name is made short
  ready();
  try {
    table.get(entry)(stack, thread);
  } finally {
    Atomics.store(new Int32Array(memory.buffer), fault >>> 2, 1);
  }
}

const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
if (node?.parentPort) serve(node.workerData, () => node.parentPort!.postMessage('ready'));
else globalThis.onmessage = ({ data }: MessageEvent<ThreadStart>) => serve(data, () => (globalThis as unknown as { postMessage(message: string): void }).postMessage('ready'));
