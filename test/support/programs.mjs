// Programs of the machine that tests use when they are installed.
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** @returns {string | undefined} */
export function findChromium() {
  return BROWSERS.find((path) => existsSync(path));
}

/** @param {string} program */
export function isInstalled(program) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => isExecutable(join(folder, program)));
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
