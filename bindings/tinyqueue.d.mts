// The build copies tinyqueue's own file beside ours, so that the package works without a bundler.
export { default } from 'tinyqueue';
