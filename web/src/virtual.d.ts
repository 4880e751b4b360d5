declare module 'virtual:sample-text' {
  export const train: string; // URLs
  export const test: string;
}
