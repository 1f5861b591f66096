// `require('perdure/codec')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/connection/codec.js');
