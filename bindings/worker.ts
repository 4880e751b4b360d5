// The script of a worker: makes runs of an experiment, and whatever else is asked for through `lengthwise/worker`.

import { expose, type Endpoint } from './comlink.mjs';
import nodeEndpoint from './node-adapter.mjs';
import { Workshop } from './workshop.js';

const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
expose(new Workshop(), node?.parentPort ? nodeEndpoint(node.parentPort) : (globalThis as unknown as Endpoint));
