// Starting workers, in browsers and in Node.

import { releaseProxy, wrap, type Endpoint, type Remote } from './comlink.mjs';
import nodeEndpoint from './node-adapter.mjs';
import type { WorkerOptions } from './load.js';
import type { Workshop } from './workshop.js';

/** A worker that is running, and its end. */
export interface Station {
  workshop: Remote<Workshop>;
  /** Rejects when the worker dies. */
  died: Promise<never>;
  end(): void;
}

/** Starts a worker. */
export function startWorker({ createWorker }: WorkerOptions = {}): Station {
  const node = createWorker || typeof process !== 'object' ? undefined : process.getBuiltinModule?.('node:worker_threads');
  if (node) {
    // Without the flags of the main thread: some, such as --input-type, cannot go with a file.
    const worker = new node.Worker(new URL('./worker.js', import.meta.url), { execArgv: [] });
    const died = new Promise<never>((_, reject) => {
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the worker ended with code ${code}`)));
    });
    return station(nodeEndpoint(worker), died, () => void worker.terminate());
  }
  const worker = createWorker ? createWorker() : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  const died = new Promise<never>((_, reject) => {
    worker.onerror = (event) => reject(new Error(`the worker could not run: ${event.message || 'its script did not load'}`));
  });
  return station(worker, died, () => worker.terminate());
}

function station(endpoint: Endpoint, died: Promise<never>, terminate: () => void): Station {
  died.catch(() => {}); // heard by whoever waits for an answer
  const workshop = wrap<Workshop>(endpoint);
  return { workshop, died, end: () => { workshop[releaseProxy](); terminate(); } };
}
