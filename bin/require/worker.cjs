// `require('perdure/worker')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/worker/index.js');
