import java.nio.ByteBuffer;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.ArrayList;
import java.util.zip.*;

/** Uses the JVM's memory outside its heap: direct buffers, zlib, threads and compiled code.  Argument: rounds. */
public class Work {
    static long work(int seed) throws DataFormatException {
        CRC32 sum = new CRC32();
        for (int i = 0; i < 60; i++) {
            byte[] text = ("row " + seed * i + " ").repeat(2000).getBytes(), packed = new byte[text.length], back = new byte[text.length];
            Deflater deflater = new Deflater(1 + i % 9);
            deflater.setInput(text);
            deflater.finish();
            int length = deflater.deflate(packed);
            deflater.end();
            Inflater inflater = new Inflater();
            inflater.setInput(packed, 0, length);
            if (inflater.inflate(back) != text.length) throw new AssertionError();
            inflater.end();
            ByteBuffer direct = ByteBuffer.allocateDirect(1 << i % 18);
            while (direct.hasRemaining()) direct.put((byte) (seed + direct.position()));
            sum.update(back);
            sum.update((ByteBuffer) direct.flip());
        }
        return sum.getValue();
    }

    public static void main(String[] arguments) throws Exception {
        long sum = 0;
        for (int round = 0; round < Integer.parseInt(arguments[0]); round++) {
            var pool = Executors.newFixedThreadPool(8);
            var said = new ArrayList<Future<Long>>();
            for (int n = 0; n < 8; n++) {
                int seed = 8 * round + n;
                said.add(pool.submit(() -> work(seed)));
            }
            for (var one : said) sum += one.get();
            pool.shutdown();
        }
        System.out.println(sum);
        System.in.read();
    }
}
