// `require('perdure/sandbox')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/client/sandbox/index.js');
