// The catalogue's file, so that Node 20 does not warn of it, as of an import, and bundlers find it.
'use strict';
module.exports = require('./catalogue.json');
