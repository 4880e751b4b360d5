import './docs/docs.ts';
