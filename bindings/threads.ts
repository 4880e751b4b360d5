// Several threads: workers that run the core's own code on its memory. Once they run they are the core's affair (src/parallel):
// a worker never returns to JavaScript, and is ended from outside.

import type { BareCore } from './core.js';
import { LoadError } from './errors.js';
import { browserWorker, notLoaded, ownScript } from './spawn.js';
import type { ThreadStart } from './thread.js';

/** Threads that wait for work. */
export interface Threads {
  /** How many there are, the one that asks among them. */
  readonly count: number;
  /** Ends them: from then on there is one. */
  end(): void;
}

const STACK = 1 << 17;

/** Whether memory can be shared among threads: not in a page that is not cross-origin isolated. */
export function sharedMemory(): boolean {
  return typeof SharedArrayBuffer === 'function' && (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated !== false;
}

/** @throws LoadError 'threads' when a worker does not start */
export async function startThreads(core: BareCore, module: WebAssembly.Module, memory: WebAssembly.Memory, count: number): Promise<Threads> {
  const places = core.threads(1) >>> 2, entry = core.HEAP32[places]!, fault = core.HEAP32[places + 1]!;
  const crew: ReturnType<typeof startThread>[] = [];
  let running = true;
  const end = () => {
    if (running) core.threads(1);
    running = false;
    for (const { terminate } of crew) terminate();
  };
  try {
    for (let thread = 1; thread < count; thread++) {
      crew.push(startThread({ module, memory, stack: (core._malloc(STACK) >>> 0) + STACK, entry, fault, thread }));
    }
    await Promise.all(crew.map(({ ready }) => ready));
  } catch (cause) {
    end();
    throw new LoadError('threads', `a worker for another thread did not start: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  core.threads(count);
  return { get count() { return running ? count : 1; }, end };
}

function startThread(start: ThreadStart): { ready: Promise<void>; terminate: () => void } {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (node) {
    const worker = new node.Worker(ownScript('thread.js'), { workerData: start, execArgv: [] });
    const ready = new Promise<void>((resolve, reject) => {
      worker.once('message', () => {
        worker.unref(); // the process ends when nothing else is left to do
        resolve();
      });
      worker.once('error', reject);
    });
    return { ready, terminate: () => void worker.terminate() };
  }
  const worker = browserWorker(() => new Worker(new URL('./thread.js', import.meta.url), { type: 'module' }), 'thread.js');
  const ready = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => reject(new Error(event.message || notLoaded()));
  });
  worker.postMessage(start);
  return { ready, terminate: () => worker.terminate() };
}
