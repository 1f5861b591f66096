// `require('perdure/testing')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/client/testing/index.js');
