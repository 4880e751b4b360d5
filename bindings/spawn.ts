// Workers of this package in browsers; in Node see where they are started.

const importers = new Map<string, string>();

/**
 * @param start the literal form, by which bundlers know that there is a worker
 * @param name its file, beside this module
 */
export function browserWorker(start: () => Worker, name: 'worker.js' | 'thread.js'): Worker {
  if (typeof Worker !== 'function') throw new Error('there are no workers here, as in a service worker; allowed: load() of the main module with one thread, experiments with workers: 0');
  if (!foreign()) return start();
  // The script is of another origin, as from a CDN: one of this page's origin imports it.
  if (!importers.has(name)) {
    const script = `import ${JSON.stringify(ownAddress(name).href)};`;
    importers.set(name, URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  }
  return new Worker(importers.get(name)!, { type: 'module' });
}

/** Whether this module came from another origin than the page. (Only some engines say so when a worker is made.) */
function foreign(): boolean {
  return /^https?:/.test(String(import.meta.url)) && new URL(String(import.meta.url)).origin !== globalThis.location?.origin;
}

/** A file beside this module, in a form that no bundler takes for an asset, to be copied without what it imports. */
export function ownAddress(name: string): URL {
  return new URL(`./${name}`, String(import.meta.url));
}

/** What is said where a browser tells nothing. */
export function notLoaded(): string {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === true;
  return `its script did not load${isolated ? '; in a page that is cross-origin isolated it must be served with Cross-Origin-Embedder-Policy: require-corp too' : ''}`;
}
