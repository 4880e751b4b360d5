import type { CoreFactory } from './core.js';

declare const createLengthwise: CoreFactory;
export default createLengthwise;
