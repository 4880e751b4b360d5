// Starting workers, in browsers and in Node.

import * as check from './check.js';
import { releaseProxy, wrap, type Endpoint, type Remote } from './comlink.mjs';
import nodeEndpoint from './node-adapter.mjs';
import { DisposedError } from './errors.js';
import type { WorkerOptions } from './load.js';
import { browserWorker, notLoaded, ownScript } from './spawn.js';
import type { Workshop } from './workshop.js';

/** A worker that is running, and its end. */
export interface Station {
  workshop: Remote<Workshop>;
  /** Rejects when the worker dies or is ended. */
  died: Promise<never>;
  /** Ends the worker; once more does no harm. */
  end(): void;
  readonly ended: boolean;
}

/** Starts a worker. */
export function startWorker({ createWorker }: WorkerOptions = {}): Station {
  check.callback('createWorker', createWorker);
  const node = createWorker ? undefined : globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (node) {
    // Without the flags of the main thread: some, such as --input-type, cannot go with a file.
    const worker = new node.Worker(ownScript('worker.js'), { execArgv: [] });
    const died = new Promise<never>((_, reject) => {
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the worker ended with code ${code}`)));
    });
    return station(nodeEndpoint(worker), died, () => void worker.terminate());
  }
  const worker = createWorker ? createWorker() : browserWorker(() => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }), 'worker.js');
  if (createWorker) check.capable('the result of createWorker', worker ?? null, 'a Worker', 'postMessage', 'addEventListener', 'terminate');
  const died = new Promise<never>((_, reject) => {
    worker.onerror = (event) => reject(new Error(`the worker could not run: ${event.message || notLoaded('; createWorker may say where it is. (A script of another origin needs blob: and that origin in worker-src of a Content-Security-Policy.)')}`));
  });
  return station(worker, died, () => worker.terminate());
}

function station(endpoint: Endpoint, death: Promise<never>, terminate: () => void): Station {
  const workshop = wrap<Workshop>(endpoint);
  let stop!: () => void, ended = false;
  const end = new Promise<never>((_, reject) => { stop = () => reject(terminated()); });
  const died = Promise.race([end, death]);
  died.catch(() => {}); // heard by whoever waits for an answer
  return {
    workshop, died,
    get ended() { return ended; },
    end() {
      if (ended) return;
      ended = true;
      stop();
      workshop[releaseProxy]();
      terminate();
    },
  };
}

/** What is said to whoever asks a worker that has been ended. */
export function terminated(): DisposedError {
  return new DisposedError('this worker has been ended by terminate(); call load() for another');
}
