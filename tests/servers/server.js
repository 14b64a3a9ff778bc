// SPDX-License-Identifier: GPL-2.0-or-later
// server.js SOCKET: GET /N computes a sum of N terms, and sends it with N more bytes.
const http = require("http");

http.createServer((request, response) => {
	const n = Number(request.url.slice(1));
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum += i * i % 7;
	response.end("sum " + sum + "\n" + "x".repeat(n));
}).listen(process.argv[2]);
