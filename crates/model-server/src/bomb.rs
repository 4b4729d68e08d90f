//! A gzip body of a few KiB per MiB, built without packing it whole: equal blocks that know nothing of each other.

use flate2::{Compress, Compression, Crc, FlushCompress};

const MIB: usize = 1 << 20;
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty last block.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// This many MiB of spaces, packed.
pub(crate) fn gzip_bomb(mib: u32) -> Vec<u8> {
    let spaces = vec![b' '; MIB];
    let mut block = Vec::with_capacity(MIB / 64);
    let mut packer = Compress::new(Compression::best(), false);
    packer.compress_vec(&spaces, &mut block, FlushCompress::Full).expect("spaces can be packed");
    assert_eq!(packer.total_in(), MIB as u64, "one call packs a block");
    let (mut one, mut all) = (Crc::new(), Crc::new());
    one.update(&spaces);
    let mut bomb = HEADER.to_vec();
    for _ in 0..mib {
        bomb.extend_from_slice(&block);
        all.combine(&one);
    }
    bomb.extend_from_slice(&LAST_BLOCK);
    bomb.extend_from_slice(&all.sum().to_le_bytes());
    bomb.extend_from_slice(&all.amount().to_le_bytes());
    bomb
}
