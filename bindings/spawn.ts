// Where this package's own files are, and the workers that run some of them.

/** This module's own address: said once, since bundlers that make scripts of another kind write a path of theirs there. */
const here = String(import.meta.url);

/** What is said where such a file is missing. */
export const leftOut = "Bundlers that do not know new URL(…, import.meta.url) leave the package's files out: copy *.wasm, worker.js, thread.js and shared-*.js " +
  'of lengthwise/dist beside the bundle, or keep the package out of a bundle for a server';

/** A file beside this module, in a form that no bundler takes for an asset, to be copied without what it imports. */
export function ownAddress(name: string): URL {
  return new URL(`./${name}`, here);
}

/** The script of a worker in Node. */
export function ownScript(name: 'worker.js' | 'thread.js'): URL {
  const place = ownAddress(name);
  if (place.protocol === 'file:' && !globalThis.process?.getBuiltinModule('node:fs').existsSync(place)) throw new Error(`${place.pathname} is not there. ${leftOut}`);
  return place;
}

const importers = new Map<string, string>();

/**
 * A worker in browsers.
 * @param start the literal form, by which bundlers know that there is a worker
 * @param name its file, beside this module
 */
export function browserWorker(start: () => Worker, name: 'worker.js' | 'thread.js'): Worker {
  if (typeof Worker !== 'function') throw new Error('there are no workers here, as in a service worker; allowed: load() of the main module with one thread, experiments with workers: 0');
  // Of another origin, as from a CDN? Only some engines say so when a worker is made. A script of this origin may import it.
  if (!/^https?:/.test(here) || new URL(here).origin === globalThis.origin) return start();
  if (!importers.has(name)) {
    const script = `import ${JSON.stringify(ownAddress(name).href)};`;
    importers.set(name, URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  }
  return new Worker(importers.get(name)!, { type: 'module' });
}

/** What is said where a browser tells nothing. @param remedy in a page that is not isolated */
export function notLoaded(remedy = ''): string {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === true;
  return `its script did not load${isolated ? '; in a page that is cross-origin isolated it must be served with Cross-Origin-Embedder-Policy: require-corp too' : remedy}`;
}
