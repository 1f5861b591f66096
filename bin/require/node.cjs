// The first thing that require() of an entry runs: a Node that cannot load an ES module that way is
// named, with what to do.
'use strict';
const { version, engines } = require('../../package.json');

const running = process.versions.node;
const [major, minor] = running.split('.').map(Number);
const [atLeast, andMinor] = engines.node.match(/\d+/g).map(Number);

if (major < atLeast || (major === atLeast && minor < andMinor))
  throw new Error(
    `perdure ${version} cannot run here: it needs Node ${atLeast}.${andMinor} or newer, and this is Node ${running}: use a newer Node`,
  );
if (!process.features.require_module)
  throw new Error(
    `perdure ${version} is an ES module, which require() of Node ${running} does not load: use Node 22.12 or newer, or import('perdure')`,
  );
// It looks whether the Temporal packages will do, before what an older one lacks is missed.
require('../../dist/system/process/supported.js');
