// `npm start`: builds what has changed, serves the page and prints its address.
//   npm start -- [--port 8017] [--host 127.0.0.1]
import { parseArgs } from 'node:util';
import { buildAll, project } from '../bindings/toolchain/build.mjs';
import { fail } from '../bindings/toolchain/setup.mjs';
import { Problem } from '../bindings/toolchain/host.mjs';

const options = { port: { type: 'string', default: '8017' }, host: { type: 'string', default: '127.0.0.1' } };

async function start() {
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    throw new Problem(`${error.message}; known are --port and --host.`);
  }
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Problem(`--port ${values.port} must be a whole number from 1 to 65535.`);
  await buildAll();
  const { preview } = await import('vite'); // only there once buildAll has installed it
  // The page can do without these; programs that are tried out here may use several threads.
  const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
  const server = await preview({ root: `${project}/web`, logLevel: 'warn', preview: { port, host: values.host, strictPort: false, headers } });
  const addresses = [...(server.resolvedUrls?.local ?? []), ...(server.resolvedUrls?.network ?? [])];
  console.log(`lengthwise is at ${addresses.join(' and ')} (Ctrl+C ends it)`);
}

await start().catch(fail);
