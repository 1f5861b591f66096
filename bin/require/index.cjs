// `require('perdure')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/client/index.js');
