//! A gzip body that is a few KiB per MiB of content. One MiB is compressed once, as a block that can be repeated, so that a
//! test does not wait while the whole content is compressed.

use flate2::{Compress, Compression, Crc, FlushCompress};

const MIB: usize = 1 << 20;
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty block with the mark of the last block.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// Returns this many MiB of spaces, compressed.
pub(crate) fn gzip_bomb(mib: u32) -> Vec<u8> {
    let spaces = vec![b' '; MIB];
    let mut block = Vec::with_capacity(MIB / 64);
    let mut encoder = Compress::new(Compression::best(), false);
    encoder.compress_vec(&spaces, &mut block, FlushCompress::Full).expect("spaces can be compressed");
    assert_eq!(encoder.total_in(), MIB as u64, "one call compresses a block");
    let (mut block_sum, mut sum) = (Crc::new(), Crc::new());
    block_sum.update(&spaces);
    let mut bomb = HEADER.to_vec();
    for _ in 0..mib {
        bomb.extend_from_slice(&block);
        sum.combine(&block_sum);
    }
    bomb.extend_from_slice(&LAST_BLOCK);
    bomb.extend_from_slice(&sum.sum().to_le_bytes());
    bomb.extend_from_slice(&sum.amount().to_le_bytes());
    bomb
}
