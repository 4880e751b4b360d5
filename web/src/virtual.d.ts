declare module 'virtual:sample-text' {
  export const train: string; // URLs
  export const test: string;
}
declare module 'virtual:encoding-headers' {
  export interface Header { equation: string[]; notes: string } // of the C++ file
  export const headers: Record<string, Header | undefined>;
}
