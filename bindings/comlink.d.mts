// The build copies comlink's own file beside ours, so that the package works without a bundler.
export * from 'comlink';
