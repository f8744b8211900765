//! A connection's bytes: cuts off a client that reads too slowly, and notices one that hangs up,
//! even in the middle of a request.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};

use crate::limits::WRITE_TIME;

/// How often to check on a client that has sent more than was read.
const LOOK: Duration = Duration::from_millis(200);

/// Time for a client to notice that it should stop sending, and to read why.
const LINGER: Duration = Duration::from_secs(1);

/// A connection as the protocol sees it.
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    /// Runs while the client does not read.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(crate) fn new(stream: Arc<TcpStream>) -> Socket {
        Socket { stream, stalled: None }
    }
}

/// Ends when the client has hung up. A client that only closes its sending side counts as gone: the
/// two look the same until something is written.
pub(crate) async fn hung_up(stream: &TcpStream) {
    while let Ok(1..) = stream.peek(&mut [0]).await {
        sleep(LOOK).await;
    }
}

/// Reads what a client still sends, for a while: if the connection were closed first, the answer
/// might be lost.
pub(crate) async fn linger(stream: &TcpStream) {
    let _ = SockRef::from(stream).shutdown(std::net::Shutdown::Write);
    let mut bytes = vec![0; 1 << 16];
    let all = async {
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut bytes) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    };
    let _ = timeout(LINGER, all).await;
}

/// Reads what is available. If that leaves room in the buffer, the stream counts as empty until the
/// system reports more, as in `TcpStream::poll_read`. This saves the next read and the check for a
/// hang-up a system call.
fn read(stream: &TcpStream, to: &mut [u8]) -> io::Result<usize> {
    let mut n = None;
    let read = stream.try_io(Interest::READABLE, || {
        let some = (&*SockRef::from(stream)).read(to)?;
        n = Some(some);
        match cfg!(unix) && 0 < some && some < to.len() {
            true => Err(io::ErrorKind::WouldBlock.into()), // nothing is left to read
            false => Ok(some),
        }
    });
    n.map_or(read, Ok)
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match read(&self.stream, to.initialize_unfilled()) {
                Ok(n) => {
                    to.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.stream.poll_write_ready(context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => {
                    let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_TIME)));
                    ready!(stalled.as_mut().poll(context));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.stalled = None;
                    return Poll::Ready(written);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.stream).shutdown(std::net::Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_comes_later_is_read_and_a_hang_up_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (mut client, stream) = (client.unwrap(), Arc::new(accepted.unwrap().0));
        let mut socket = Socket::new(stream.clone());
        let mut bytes = [0; 4];
        // Less than the buffer holds, exactly as much, and more.
        for sent in ["ab", "abcd", "abcdef"] {
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut read = Vec::new();
            while read.len() < sent.len() {
                let n = socket.read(&mut bytes).await.unwrap();
                read.extend_from_slice(&bytes[..n]);
            }
            assert_eq!(read, sent.as_bytes());
            assert!(timeout(Duration::from_millis(20), hung_up(&stream)).await.is_err());
        }
        drop(client);
        timeout(Duration::from_secs(10), hung_up(&stream)).await.unwrap();
        assert_eq!(socket.read(&mut bytes).await.unwrap(), 0);
    }
}
