// SPDX-License-Identifier: GPL-2.0-or-later
// Server FILE: GET /N computes a sum of N terms, and sends it with N more bytes.  The port goes to
// FILE.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;

public class Server {
	static byte[] response(int n) {
		StringBuilder out = new StringBuilder();
		long sum = 0;
		for (int i = 0; i < n; i++) {
			sum = sum * 31 + i;
			out.append(i % 10);
		}
		return (sum + "\n" + out).getBytes();
	}

	static void serve(HttpExchange exchange) throws IOException {
		byte[] body = response(Integer.parseInt(
			exchange.getRequestURI().getPath().substring(1)));
		exchange.sendResponseHeaders(200, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
	}

	public static void main(String[] args) throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		server.createContext("/", Server::serve);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
		Files.writeString(Path.of(args[0]), server.getAddress().getPort() + "\n");
	}
}
