// The build copies comlink's own file beside ours.
import type { MessagePort, Worker } from 'node:worker_threads';
import type { Endpoint } from 'comlink';

export default function nodeEndpoint(port: MessagePort | Worker): Endpoint;
