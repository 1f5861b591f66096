// Imports a module that no bundle takes along. Bundlers are told to leave it alone, and cannot see
// which it is.

/**
 * @param {string} what an address, or the name of a package
 * @returns {Promise<any>}
 */
export const importApart = (what) =>
  import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ what);
