// Imports what no bundle takes along: bundlers are told to leave it alone, and cannot see what it
// is.

/**
 * @param {string} what an address, or the name of a package
 * @returns {Promise<any>}
 */
export const importApart = (what) =>
  import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ what);
