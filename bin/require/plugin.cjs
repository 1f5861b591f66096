// `require('perdure/plugin')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/worker/plugin/perdure-plugin.js');
